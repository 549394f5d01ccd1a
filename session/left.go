package session

import "context"

// Left returns the UUIDs of the messages that the main conversation went back from: they are
// in the journal, but the model no longer knows them.
func Left(ctx context.Context, path string) (map[string]bool, error) {
	before := map[string]string{} // the message that each one follows
	tail := ""
	for e, err := range Entries(ctx, path) {
		if err != nil {
			return nil, err
		}
		if e.Agent != "" {
			continue
		}
		// Only a prompt goes back: results of calls that ran at the same time follow their own calls.
		if _, known := before[e.Parent]; known && (e.Back != nil || e.prompts()) {
			tail = e.Parent
		}
		if e.UUID != "" && (e.Message != nil || e.Compaction != nil) {
			before[e.UUID], tail = tail, e.UUID
		}
	}
	left := map[string]bool{}
	for uuid := range before {
		left[uuid] = true
	}
	for uuid := tail; uuid != "" && left[uuid]; uuid = before[uuid] {
		delete(left, uuid)
	}
	return left, nil
}
