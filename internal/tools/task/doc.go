// Package task provides the tools TaskCreate, TaskGet, TaskList and TaskUpdate, which share a
// list of work.
//
//	store := task.NewStore(dir, nil)
//	tools := task.New(store)
//
// Tasks have owners and wait for each other. The list is a file in a directory of a
// session or a team; several agents and processes may change it at the same time,
// and every change is made to the list as it is then, so that none is lost. A
// [Store] is safe for concurrent use, and there is nothing to close.
//
// Trust: the tools touch nothing but the list's own file. It contains text of the models that
// share it, with which one model may try to instruct another.
package task
