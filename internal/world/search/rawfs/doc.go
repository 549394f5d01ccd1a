// Package rawfs reads directories and files with as few system calls and
// allocations as the system allows. Over a large tree the calls are most of what a
// search costs: the standard library's ReadDir and ReadFile take two to three
// times as long.
//
// On Linux it calls the kernel directly; elsewhere package os does the work.
// Nothing here follows a symbolic link in the last element unless asked to.
// Values belong to one goroutine at a time; whoever opens closes.
package rawfs

// Kind is what a directory entry is.
type Kind uint8

const (
	Other Kind = iota // device, socket, FIFO
	Regular
	Directory
	Symlink
)

// Stat is what a search wants to know of a file. Two equal values mean, as far as
// the file system can tell, an unchanged file.
type Stat struct {
	Mtime, Ctime int64 // nanoseconds
	Size         int64
	Ino, Dev     uint64
	Links        uint64
	Kind         Kind
}
