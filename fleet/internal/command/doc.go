// Package command is the haft-fleet command: it reads arguments, and starts a server, a worker
// or a client of the fleet.
//
// Standard output carries what was asked for, logs go to standard error.
package command
