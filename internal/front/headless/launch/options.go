package launch

import "strings"

// isObject reports whether the value of a flag is a JSON object; otherwise it names a file.
func isObject(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }
