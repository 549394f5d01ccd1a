package todo

// Snapshot returns what all agents have to do, for a session to keep as JSON.
func (l *List) Snapshot() map[string][]Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cloned(l.items)
}

// Forget drops the list of an agent that has ended.
func (l *List) Forget(agent string) {
	l.replace(agent, nil)
}
