package project

import (
	"errors"
)

// ErrRoot is why a session does not begin that would run as root and ask nobody.
var ErrRoot = errors.New("the permission mode bypassPermissions is not available to root, who can change everything on this machine: run haft as another user, set IS_SANDBOX=1 in a disposable container, or use --i-know")
