# shellcheck shell=bash
verb_help() { cat "$LAB_SOURCE/help.txt"; }
