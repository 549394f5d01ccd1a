package journal

import "encoding/json"

// An Event is one line of a journal with its place. Who has seen an event asks for what
// comes after its id, and sees every other one once.
type Event struct {
	ID    string          `json:"id"`
	Entry json.RawMessage `json:"entry"`
}
