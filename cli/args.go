package cli

import (
	"slices"
	"strings"
)

// forProgram reports whether a program started haft to speak stream-json with it.
func forProgram(args []string) bool {
	for i, a := range args {
		if a == "--input-format=stream-json" || a == "--input-format" && i+1 < len(args) && args[i+1] == "stream-json" {
			return true
		}
	}
	return false
}

// converses reports whether a conversation is to be led without a screen.
func converses(args []string) bool {
	return forProgram(args) || slices.Contains(args, "-p") || slices.Contains(args, "--print")
}

// normalize lets --resume stand without a value: then the person chooses.
func normalize(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if (a == "--resume" || a == "-r") && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			args[i] = "--resume="
		}
	}
	return args
}
