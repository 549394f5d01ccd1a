package shellrun

// PID is the process of a task.
func (t *Task) PID() int { return t.proc.PID() }
