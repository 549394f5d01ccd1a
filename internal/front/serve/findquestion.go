package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var errNoQuestion = &Problem{status: http.StatusNotFound, Code: "no_question", Message: "There is no such question."}

// place is where the session has a question; ok is false if it has not.
func (w *watch) place(id string) (at QuestionPlace, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at = QuestionPlace{Session: w.id, Item: -1}
	i, _ := w.fold.Asked(id)
	if i != nil {
		at.Item = i.Index
	}
	q := w.questions[id]
	at.Open = q != nil && q.by == ""
	return at, i != nil || q != nil
}

// mentions reports whether a file has a text in it.
func mentions(ctx context.Context, path string, text []byte) bool {
	file, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	buffer, kept := make([]byte, 1<<20), 0
	for ctx.Err() == nil {
		n, err := io.ReadFull(file, buffer[kept:])
		if bytes.Contains(buffer[:kept+n], text) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(buffer, buffer[len(buffer)-len(text):]) // it may be cut
	}
	return false
}

var sessionID = lazyregexp.New(`^[\w-]+$`)
