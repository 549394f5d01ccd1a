// Command server answers questions over HTTP, each in a session of its own. The sessions run
// inside this process, and share the connections to the model.
//
//	go run ./examples/server -dir /project &
//	curl -d 'What is here?' localhost:8080/ask
//	curl -d 'And who wrote it?' 'localhost:8080/ask?session=SESSION'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
)

func main() {
	address := flag.String("listen", "localhost:8080", "where to listen")
	dir := flag.String("dir", ".", "the project to answer questions about")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *address, newHandler(*dir)); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// serve listens until the context ends, and then waits up to 30 seconds for open questions.
func serve(ctx context.Context, address string, h http.Handler) error {
	srv := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		late, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return srv.Shutdown(late)
	}
}

// newHandler answers POST /ask. All sessions share one transport.
func newHandler(dir string) http.Handler {
	transport := embed.New(nil)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		prompt, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || len(prompt) == 0 {
			http.Error(w, "send a question of at most 1 MB", http.StatusBadRequest)
			return
		}
		// No one can be asked for permission, so the session only reads. It ends if the client disconnects.
		result, err := haft.Ask(r.Context(), string(prompt), &haft.Options{
			Transport: transport, Dir: dir, Resume: r.URL.Query().Get("session"), Tools: []string{"Read", "Grep", "Glob"}, MaxTurns: 20,
		})
		switch {
		case errors.Is(err, haft.ErrNoSession):
			http.Error(w, "no such session", http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(reply{result.SessionID, result.Result}) // the client may be gone
		}
	})
	return mux
}

type reply struct {
	Session string `json:"session"`
	Answer  string `json:"answer"`
}
