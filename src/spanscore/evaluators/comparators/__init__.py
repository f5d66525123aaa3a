"""How alike two values of one field are: the comparators, and the table of their names."""
