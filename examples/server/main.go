// Command server is a chat over HTTP: it streams what the agent says, asks before calls that no
// rule decides, and takes the answers. The sessions run inside this process.
//
//	go run ./examples/server -dir /project &
//	curl -N -d 'Tidy up' localhost:8080/chat
//	curl -X POST 'localhost:8080/answer?question=QUESTION&allow=true'
//	curl -N -d 'And now?' 'localhost:8080/chat?session=SESSION'
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
)

func main() {
	dir := flag.String("dir", ".", "the project to work in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	srv := &http.Server{Addr: "localhost:8080", Handler: newHandler(haft.Options{Transport: embed.New(nil), Dir: *dir, MaxTurns: 20})}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.ListenAndServe(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// An event is a line of an answer.
type event struct {
	Text     string          `json:"text,omitempty"`
	Question string          `json:"question,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Session  string          `json:"session,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// newHandler answers POST /chat with a stream of events, and takes answers to questions at POST
// /answer. All sessions share the transport.
func newHandler(opts haft.Options) http.Handler {
	var open sync.Map // questions by id
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat", func(w http.ResponseWriter, r *http.Request) {
		prompt, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || len(prompt) == 0 {
			http.Error(w, "send a prompt of at most 1 MB", http.StatusBadRequest)
			return
		}
		lines := json.NewEncoder(w)
		send := func(e event) {
			_ = lines.Encode(e) // a client that is gone ends the context
			_ = http.NewResponseController(w).Flush()
		}
		opts := opts
		opts.Resume, opts.Questions = r.URL.Query().Get("session"), true
		for m, err := range haft.Query(r.Context(), string(prompt), &opts) {
			if err != nil {
				send(event{Error: err.Error()})
				return
			}
			switch m := m.(type) {
			case *haft.Assistant:
				if text := haft.TextOf(m); text != "" {
					send(event{Text: text})
				}
			case *haft.Question:
				open.Store(m.ToolUseID, m)
				defer open.Delete(m.ToolUseID)
				send(event{Question: m.ToolUseID, Tool: m.ToolName, Input: m.Input})
			case *haft.Result:
				send(event{Session: m.SessionID, Answer: m.Result})
			}
		}
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		question, ok := open.LoadAndDelete(r.FormValue("question"))
		if !ok {
			http.Error(w, "no such question", http.StatusNotFound)
			return
		}
		if r.FormValue("allow") == "true" {
			question.(*haft.Question).Answer(haft.Allow())
		} else {
			question.(*haft.Question).Answer(haft.Deny("the user does not want that"))
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
