//go:build !linux

package sandbox

// A Stamp tells whether something in a folder has come, gone or been replaced
// since. Only on Linux is that known.
type Stamp struct{}

// StampOf looks at a folder.
func StampOf(string) Stamp { return Stamp{} }

// there reports whether the folder was there, which is not known.
func (Stamp) there() bool { return true }

// Holds reports whether the folder is certainly what it was.
func (Stamp) Holds(string) bool { return false }
