// Package watch announces changes in directories, for package tree.
//
// On Linux it is inotify: an event is queued before the system call that causes it
// returns, so that draining the queue is a barrier for everything done before by
// any local process. Two kinds of change are not announced: a write through a hard
// link in a directory that is not watched, and a store into a shared mapping, until
// that is unmapped. Package tree deals with the first; the second is invisible to
// stat(2) as well. On other systems there is no such barrier, and [New] reports
// [ErrUnsupported].
//
// A Watcher is safe for concurrent use; its owner closes it.
package watch

import "errors"

// ErrUnsupported means that this system cannot announce changes reliably.
var ErrUnsupported = errors.New("watching directories is not supported on this system")
