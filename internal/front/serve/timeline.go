package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/haftdev/haft/internal/front/timeline"
)

// timelineRoutes are those that show what happened, and what happens.
func (s *Server) timelineRoutes() []route {
	after := parameter{"after", "the position to continue after, as the id of an event; the header Last-Event-ID takes precedence"}
	revision := parameter{"timeline", "also send timeline events, with what changed after this revision"}
	pieces := parameter{"pieces", "send the text of answers that arrive as piece events, gathered over 50 ms, instead of stream_event messages"}
	return []route{
		encoded[Timeline](answers(http.StatusOK, "GET", "/sessions/{id}/timeline", "The view of a session that the page shows", s.getTimeline,
			parameter{"from", "index of the first item; a negative number counts from the end"}, parameter{"limit", "maximum number of items; defaults to 500"}, parameter{"since", "only items that changed after this revision"})),
		answers(http.StatusOK, "GET", "/sessions/{id}/items/{index}", "An item with its full text", s.getItem),
		{"GET", "/sessions/{id}/events", "The events of a session, as server-sent events", []parameter{after, revision, pieces}, http.StatusOK, nil, nil, func(w http.ResponseWriter, r *http.Request) {
			s.stream(w, r, r.PathValue("id"), nil)
		}},
		{"GET", "/events", "Changes to the list of sessions, as server-sent events", []parameter{{"session", "also send the events of this session"}, after, revision, pieces}, http.StatusOK, nil, nil, func(w http.ResponseWriter, r *http.Request) {
			s.stream(w, r, r.URL.Query().Get("session"), map[string]Session{})
		}},
	}
}

// encoded is the route of an operation whose reply is encoded by itself.
func encoded[Out any](r route) route {
	r.reply = reflect.TypeFor[Out]()
	return r
}

// revision names a state of a view. Another process may fold the same journal in another
// order, so the name has the server in it.
func (s *Server) revision(v *timeline.Fold) string {
	return fmt.Sprintf("%s-%d", s.epoch, v.Revision())
}

// parseRevision reads one; reset says that it is of another server.
func (s *Server) parseRevision(text string) (n int, reset bool) {
	if _, err := fmt.Sscanf(text, s.epoch+"-%d", &n); err != nil {
		return -1, true
	}
	return n, false
}

// timelineOf is the view without items.
func (s *Server) timelineOf(v *timeline.Fold) Timeline {
	sum := v.Summary()
	return Timeline{Revision: s.revision(v), Position: string(sum.Position), Summary: sum, Turns: []timeline.Turn{}, Items: []*timeline.Item{}, Total: sum.Items}
}

// usualItems is how many items of a timeline are sent at once.
const usualItems = 500

// getTimeline returns part of the folded view.
func (s *Server) getTimeline(r *http.Request) (json.RawMessage, error) {
	query := r.URL.Query()
	from, err := number(query.Get("from"), 0)
	if err != nil {
		return nil, err
	}
	limit, err := number(query.Get("limit"), usualItems)
	if err != nil {
		return nil, err
	}
	w, err := s.watched(r)
	if err != nil {
		return nil, err
	}
	defer w.release()
	w.mu.Lock()
	defer w.mu.Unlock()
	t := s.timelineOf(w.fold)
	since, reset := 0, true
	if query.Has("since") {
		since, reset = s.parseRevision(query.Get("since"))
		t.Reset = reset
	}
	if reset {
		if from < 0 {
			from = max(0, t.Total+from)
		}
		t.Items = append(t.Items, w.fold.Items(from, limit)...)
		t.Turns = append(t.Turns, w.fold.Turns()...)
	} else {
		items, turns := w.fold.Since(since)
		t.Items, t.Turns = append(t.Items, items...), append(t.Turns, turns...)
	}
	return json.Marshal(t) // here, because the view may change afterwards
}

// getItem returns an item with the whole of its texts.
func (s *Server) getItem(r *http.Request) (timeline.Detail, error) {
	w, err := s.watched(r)
	if err != nil {
		return timeline.Detail{}, err
	}
	defer w.release()
	index, err := number(r.PathValue("index"), -1)
	if err != nil {
		return timeline.Detail{}, err
	}
	w.mu.Lock()
	list := w.fold.Items(index, 1)
	var item timeline.Item
	if index >= 0 && len(list) == 1 {
		item = copied(list[0])
	}
	path := w.path
	w.mu.Unlock()
	if index < 0 || len(list) == 0 {
		return timeline.Detail{}, &Problem{status: http.StatusNotFound, Code: "no_item", Message: fmt.Sprintf("The session has no item %d.", index)}
	}
	return timeline.Read(r.Context(), path, &item), nil
}

// copied is an item that does not change with the view.
func copied(i *timeline.Item) timeline.Item {
	out := *i
	if i.Call != nil {
		call := *i.Call
		out.Call = &call
	}
	return out
}
