// Package watch announces changes in directories, for package tree.
//
// On Linux it is inotify: an event is queued before the system call that causes it
// returns, so that draining the queue is a barrier for everything done before by
// any local process. Two kinds of change are not announced. One is a write through
// a hard link in a directory that is not watched: package tree trusts nothing about
// a file with several names, but it does not learn of a name that is made elsewhere
// later. The other is a store into a shared mapping, until that is unmapped, which
// stat(2) does not see either. On other systems there is no such barrier, and [New]
// reports an error.
//
// A Watcher is safe for concurrent use; its owner closes it.
package watch
