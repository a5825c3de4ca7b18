"""The results as a static site: pages that open from a folder, without a server and without a network.

A page is a template (`templates/`); what it shows of a group of cells comes from a script of data, since a page opened as a file may load scripts and nothing else.
"""
