package agent

import "encoding/json"

// noteOnce is note for what may be noted already.
func (a *Agent) noteOnce(name, value string) {
	a.mu.Lock()
	known := string(a.noted.known[name])
	a.mu.Unlock()
	if raw, err := json.Marshal(value); err != nil || known != string(raw) {
		a.note(name, value)
	}
}
