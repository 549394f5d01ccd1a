package shellrun

import (
	"strings"
)

// source loads an env file. One that ends the shell must not look like a command
// that ran, and one that changes the directory changes it for itself.
func source(envFile, dir string) string {
	ended := "haft: the command did not run: the env file " + envFile + " ended the shell"
	return "trap " + quote("builtin echo "+quote(ended)+" >&2; builtin exit 126") + " EXIT; " +
		". " + quote(envFile) + "; " +
		"[[ $PWD == " + quote(dir) + " ]] || builtin cd -- " + quote(dir) + "; "
}

// quote makes s one word of shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
