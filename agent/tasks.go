package agent

import (
	"strings"
)

// escape keeps a command's own words from ending the field they are in.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
