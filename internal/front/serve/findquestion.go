package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/session"
)

// findQuestion returns where a question is, for links that name nothing else.
func (s *Server) findQuestion(r *http.Request) (QuestionPlace, error) {
	id := r.PathValue("question")
	if !sessionID.Get().MatchString(id) {
		return QuestionPlace{}, errNoQuestion
	}
	for _, w := range s.allWatches() {
		if at, ok := w.place(id); ok {
			return at, nil
		}
	}
	infos, err := s.back.List(r.Context(), &session.ListOptions{Limit: usualList})
	if err != nil {
		return QuestionPlace{}, err
	}
	for _, info := range infos {
		if !mentions(r.Context(), info.Path, []byte(id)) {
			continue
		}
		r.SetPathValue("id", info.ID)
		w, err := s.watched(r)
		if r.Context().Err() != nil {
			return QuestionPlace{}, r.Context().Err()
		}
		if err != nil {
			continue // it is gone, or cannot be read; another one may have the question
		}
		at, ok := w.place(id)
		if w.release(); ok {
			return at, nil
		}
	}
	return QuestionPlace{}, errNoQuestion
}

var errNoQuestion = &Problem{status: http.StatusNotFound, Code: "no_question", Message: "There is no such question."}

// allWatches are the sessions that clients look at.
func (s *Server) allWatches() []*watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*watch, 0, len(s.watches))
	for _, w := range s.watches {
		list = append(list, w)
	}
	return list
}

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
