"""The embedded table of the demo, its generator, and the policy that it is published under."""
