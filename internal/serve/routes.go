package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/haftdev/haft/internal/timeline"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A route is one operation of the API. The OpenAPI document is made from the table of
// them.
type route struct {
	method, path, summary string
	query                 []parameter
	status                int          // of success
	body, reply           reflect.Type // nil if there is none
	serve                 http.HandlerFunc
}

// A parameter is one of the query.
type parameter struct{ name, about string }

// table is every operation.
func (s *Server) table() []route {
	after := parameter{"after", "the position to continue after, as the id of an event; the header Last-Event-ID goes before it"}
	revision := parameter{"timeline", "also send timeline events, with what changed after this revision"}
	return []route{
		{"POST", "/login", "Exchange the token for a cookie", nil, http.StatusNoContent, reflect.TypeFor[Login](), nil, s.login},
		answers(http.StatusOK, "GET", "/sessions", "List sessions, those written to last first", s.listSessions,
			parameter{"limit", "how many at most; 200 if it is absent"}, parameter{"cwd", "only those of this folder"}),
		takes(http.StatusCreated, "POST", "/sessions", "Begin a session", s.createSession),
		answers(http.StatusOK, "GET", "/sessions/{id}", "A session", s.getSession),
		takes(http.StatusOK, "PATCH", "/sessions/{id}", "Rename a session, change its mode or its model", s.changeSession),
		answers(http.StatusNoContent, "DELETE", "/sessions/{id}", "Delete a session for good", s.deleteSession),
		takes(http.StatusCreated, "POST", "/sessions/{id}/fork", "Copy a session", s.forkSession),
		takes(http.StatusAccepted, "POST", "/sessions/{id}/prompts", "Send a prompt; a session that is not running is resumed", s.prompt),
		answers(http.StatusNoContent, "POST", "/sessions/{id}/interrupt", "Stop the turn that runs", s.interrupt),
		answers(http.StatusNoContent, "POST", "/sessions/{id}/close", "End the process of a session that this server leads; the session can be resumed", s.closeSession),
		takes(http.StatusNoContent, "POST", "/sessions/{id}/answers", "Answer a question; the first answer counts", s.answer),
		answers(http.StatusOK, "GET", "/sessions/{id}/questions", "The questions that are open", s.getQuestions),
		takes(http.StatusOK, "POST", "/sessions/{id}/rewind", "Bring files back to how a message or call found them", s.rewind),
		encoded[Timeline](answers(http.StatusOK, "GET", "/sessions/{id}/timeline", "The folded view of a session", s.getTimeline,
			parameter{"from", "the first item; a negative number counts from the end"}, parameter{"limit", "how many items at most; 500 if it is absent"}, parameter{"since", "only what changed after this revision"})),
		answers(http.StatusOK, "GET", "/sessions/{id}/items/{index}", "An item with the whole of its texts", s.getItem),
		answers(http.StatusOK, "GET", "/sessions/{id}/checkpoints", "What the session can be rewound to", s.getCheckpoints),
		answers(http.StatusOK, "GET", "/sessions/{id}/diff", "What a call, or the whole session, changed in files", s.getDiff, parameter{"call", "the tool_use id of the call"}),
		answers(http.StatusOK, "GET", "/sessions/{id}/file", "A file as it is now, of a session that runs", s.getFile, parameter{"path", "of the file"}),
		{"GET", "/sessions/{id}/events", "What happens in a session, as server-sent events", []parameter{after, revision}, http.StatusOK, nil, nil, s.sessionEvents},
		{"GET", "/events", "Changes of the list of sessions, as server-sent events", []parameter{{"session", "also send the events of this session"}, after, revision}, http.StatusOK, nil, nil, s.listEvents},
		{"GET", "/openapi.json", "This document", nil, http.StatusOK, nil, nil, s.openAPI},
	}
}

// takes is the route of an operation with a body.
func takes[In, Out any](status int, method, path, summary string, do func(*http.Request, *In) (Out, error)) route {
	limit := int64(maxBody)
	if reflect.TypeFor[In]() == reflect.TypeFor[Prompt]() {
		limit = maxImageBody
	}
	return route{method, path, summary, nil, status, reflect.TypeFor[In](), reflect.TypeFor[Out](), func(w http.ResponseWriter, r *http.Request) {
		var in In
		if p := read(w, r, &in, limit); p != nil {
			refuse(w, p)
			return
		}
		out, err := do(r, &in)
		reply(w, status, out, err)
	}}
}

// answers is the route of an operation without a body.
func answers[Out any](status int, method, path, summary string, do func(*http.Request) (Out, error), query ...parameter) route {
	return route{method, path, summary, query, status, nil, reflect.TypeFor[Out](), func(w http.ResponseWriter, r *http.Request) {
		out, err := do(r)
		reply(w, status, out, err)
	}}
}

// encoded is the route of an operation whose reply is encoded by itself.
func encoded[Out any](r route) route {
	r.reply = reflect.TypeFor[Out]()
	return r
}

// reply answers a request.
func reply(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		refuse(w, problem(err))
		return
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = writeJSON(w, v) // who asked may be gone
}

// writeJSON writes a value with every < and & in it escaped.
func writeJSON(w http.ResponseWriter, v any) error { return json.NewEncoder(w).Encode(v) }

// problem is an error as the API tells it.
func problem(err error) *Problem {
	var p *Problem
	var used *session.InUseError
	var control *wire.ControlError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &used):
		return &Problem{status: http.StatusConflict, Code: "in_use", Message: err.Error(), PID: used.PID}
	case errors.Is(err, session.ErrNotFound):
		return &Problem{status: http.StatusNotFound, Code: "no_session", Message: err.Error()}
	case errors.Is(err, session.ErrNoMessage):
		return &Problem{status: http.StatusNotFound, Code: "no_message", Message: err.Error()}
	case errors.As(err, &control):
		return &Problem{status: http.StatusConflict, Code: "refused", Message: control.Message}
	}
	return &Problem{status: http.StatusInternalServerError, Code: "failed", Message: fmt.Sprintf("It could not be done: %v", err)}
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
