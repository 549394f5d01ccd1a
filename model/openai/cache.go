package openai

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"
	"weak"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// translations remembers how the messages of histories were translated, for as
// long as the histories are there. Without it a turn would cost what the whole
// conversation is long.
type translations struct {
	mu   sync.Mutex
	byID map[weak.Pointer[model.History]]*translation
}

// A translation is that of one history, as far as it went.
type translation struct {
	mu       sync.Mutex
	sources  []*byte // where the bytes of each message are: they never change
	messages [][]byte

	toolsSource *byte
	toolsLen    int
	tools       json.RawMessage
}

// of returns the messages and tools of a request, translated.
func (t *translations) of(req *model.Request) ([][]byte, json.RawMessage, error) {
	tr := t.find(req.Messages)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err := tr.update(req.Messages); err != nil {
		return nil, nil, err
	}
	if source := unsafe.SliceData([]byte(req.Tools)); source != tr.toolsSource || len(req.Tools) != tr.toolsLen {
		tools, err := translateTools(req.Tools)
		if err != nil {
			return nil, nil, err
		}
		tr.toolsSource, tr.toolsLen, tr.tools = source, len(req.Tools), tools
	}
	n := req.Messages.Len()
	return tr.messages[:n:n], tr.tools, nil
}

// translateTools puts the description of tools into the form of this API.
func translateTools(raw json.RawMessage) (json.RawMessage, error) {
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, fmt.Errorf("the tools cannot be read: %w", err)
	}
	type described struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type entry struct {
		Type     string    `json:"type"`
		Function described `json:"function"`
	}
	var out []entry
	for _, t := range tools {
		if t.Schema != nil { // a provider's own tool has none
			out = append(out, entry{"function", described{t.Name, t.Description, t.Schema}})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return plainjson.Marshal(out)
}

func (t *translations) find(h *model.History) *translation {
	id := weak.Make(h)
	t.mu.Lock()
	defer t.mu.Unlock()
	if tr := t.byID[id]; tr != nil {
		return tr
	}
	if t.byID == nil {
		t.byID = map[weak.Pointer[model.History]]*translation{}
	}
	tr := &translation{}
	t.byID[id] = tr
	runtime.AddCleanup(h, t.forget, id)
	return tr
}

func (t *translations) forget(id weak.Pointer[model.History]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// update translates what is new.
func (tr *translation) update(h *model.History) error {
	same := 0
	for same < h.Len() && same < len(tr.sources) && tr.sources[same] == unsafe.SliceData(h.JSON(same)) {
		same++
	}
	if same < h.Len() && same < len(tr.sources) { // another request may be reading them
		tr.sources, tr.messages = slices.Clone(tr.sources[:same]), slices.Clone(tr.messages[:same])
	}
	for i := same; i < h.Len(); i++ {
		out, err := translate(h.JSON(i))
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		tr.sources = append(tr.sources, unsafe.SliceData(h.JSON(i)))
		tr.messages = append(tr.messages, out)
	}
	return nil
}
