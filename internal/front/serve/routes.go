package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

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
	if r, ok := w.(redacted); ok && shownWhole(v) {
		w = r.ResponseWriter
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
	return &Problem{status: http.StatusInternalServerError, Code: "failed", Message: fmt.Sprintf("The request failed: %v", err)}
}
