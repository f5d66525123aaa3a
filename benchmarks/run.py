"""Ratios against peers and floors: python benchmarks/run.py [name ...] [--quick] [--peers] [--output FILE]."""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import report

WORKLOADS = ("capture", "foreign", "unmatched", "importing", "similarity", "judges", "memory", "attacks")
PEERS = ("peers", "langchain_handlers")


def main() -> None:
    """Run the workloads, each in a fresh process, and print what they say as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join(WORKLOADS)}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, not how fast")
    parser.add_argument("--peers", action="store_true", help="peers of W1 and W3, installed into .bench/ on first use")
    parser.add_argument("--output", type=Path, help="write the Markdown to this file too")
    options = parser.parse_args()
    unknown = set(options.name) - {*WORKLOADS, *PEERS}
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join((*WORKLOADS, *PEERS))}")
    names = options.name or ([] if options.peers else WORKLOADS)
    names = [*names, *(name for name in PEERS if options.peers and name not in names)]
    parts = [
        f"# Benchmarks\n\n{report.environment()}. Median and spread over rounds; ratios are contender / baseline.\n"
    ]
    print(parts[0], flush=True)
    for name in names:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            parts.append(pool.submit(measured, name, options.quick).result())
        print(parts[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(parts), encoding="utf-8")


def measured(name: str, quick: bool) -> str:
    """Return the Markdown of one workload."""
    return str(importlib.import_module(name).run(quick=quick))


if __name__ == "__main__":
    main()
