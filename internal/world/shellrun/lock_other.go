//go:build !unix

package shellrun

import "os"

// lock says yes: no command runs here, so nobody uses what one left.
func lock(*os.File) bool { return true }
