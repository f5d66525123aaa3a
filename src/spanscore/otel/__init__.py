"""Everything that touches OpenTelemetry: capture, the processor, emission, set-up."""
