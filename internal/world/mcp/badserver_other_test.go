//go:build !unix

package mcp_test

import "os/exec"

// ownSession does nothing: there are no sessions to escape to.
func ownSession(*exec.Cmd) {}
