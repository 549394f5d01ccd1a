package engine

import "strings"

// Word reports whether a name can be part of a subject and the name of a file: nothing in it
// has a meaning there.
func Word(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
