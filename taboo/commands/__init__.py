"""The commands of `taboo`, one file each."""
