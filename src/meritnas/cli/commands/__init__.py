"""The commands of the command line, one file each.

They turn flags into calls of the Python interface and print what these return. They may import
everything. Start reading at `search.py`.
"""
