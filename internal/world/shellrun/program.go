package shellrun

import "errors"

// ErrNotFound means that a program is not in the commands' PATH.
var ErrNotFound = errors.New("not found in PATH")
