"""Engines that nobody here wrote, and that claim no Form: adapters, and what is known of them."""
