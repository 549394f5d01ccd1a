package acp

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	sessions "github.com/haftdev/haft/session"
)

// sessionMethods are the requests about sessions as a whole.
func (s *server) sessionMethods() map[string]method {
	return map[string]method{
		methodList: beside(s.listSessions), methodDelete: beside(s.deleteSession), methodClose: beside(s.closeSession),
		methodSetTitle: beside(about(s, (*session).setTitle)),
	}
}

// about is a request about a session that is open.
func about(s *server, answer func(*session, *request) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		ses, err := s.find(r)
		if err != nil {
			return nil, err
		}
		return answer(ses, r)
	}
}

type listRequest struct {
	Cwd    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type listReply struct {
	Sessions []sessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	ID      string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

// pageSize is how many sessions one answer lists.
const pageSize = 50

// listSessions lists the sessions there are, the newest first. The cursor is how many
// were listed before.
func (s *server) listSessions(r *request) (any, error) {
	var p listRequest
	if err := r.read(&p); err != nil {
		return nil, err
	}
	from := 0
	if p.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 || from > 1<<20 {
			return nil, errorf(codeInvalidParams, "The cursor %q is not valid.", visible.Indented(p.Cursor))
		}
	}
	// Lists read many files, so few are made at once, and none that nobody waits for.
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	list, err := sessions.Open("").List(&sessions.ListOptions{Cwd: p.Cwd, Limit: from + pageSize + 1})
	if err != nil {
		return nil, err
	}
	reply := listReply{Sessions: []sessionInfo{}}
	if len(list) > from+pageSize {
		reply.Next = strconv.Itoa(from + pageSize)
	}
	for _, i := range list[min(from, len(list)):min(from+pageSize, len(list))] {
		if i.Cwd == "" {
			continue // nobody knows where it would continue
		}
		reply.Sessions = append(reply.Sessions, sessionInfo{ID: i.ID, Cwd: i.Cwd, Title: title(cmp.Or(i.Title, i.Prompt)), Updated: i.Modified.UTC().Format(time.RFC3339)})
	}
	return reply, nil
}

// title is a title in one line of valid text.
func title(s string) string {
	return shorten.To(visible.Indented(strings.Join(strings.Fields(s), " ")), 120)
}

// closeSession ends a session. It can be loaded again.
func (s *server) closeSession(r *request) (any, error) {
	ses, err := s.find(r)
	if err != nil {
		return nil, err
	}
	s.remove(ses.id)
	ses.close()
	return object{}, nil
}

// deleteSession deletes a session for good, as the user wants.
func (s *server) deleteSession(r *request) (any, error) {
	var p place
	if err := r.read(&p); err != nil {
		return nil, err
	}
	store := sessions.Open("")
	info, err := store.Info(p.Session)
	if err != nil {
		return nil, err
	}
	if info.ID != p.Session {
		return nil, errorf(codeNotFound, "There is no session %q.", visible.Indented(p.Session)) // the beginning of an id is not enough
	}
	if ses := s.remove(p.Session); ses != nil {
		ses.close()
	}
	_, err = store.Prune(context.WithoutCancel(r.ctx), &sessions.PruneOptions{IDs: []string{info.ID}})
	return object{}, err
}

// setTitle gives the session a title.
func (s *session) setTitle(r *request) (any, error) {
	var p struct {
		Title string `json:"title"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Title) == "" {
		return nil, errorf(codeInvalidParams, "title is missing.")
	}
	defer s.drive.Wake()
	return object{}, s.talk.Rename(r.ctx, p.Title)
}
