package acp

import (
	"context"
	"time"
)

// unsavedTime is how long an editor may take to say what a file looks like in it.
const unsavedTime = 2 * time.Second

// unsaved asks the editor for a file as it has it, which may not be saved yet. An editor
// that does not answer has nothing to say about it.
func (s *session) unsaved(ctx context.Context, path string) (text string, ok bool) {
	s.catchUp(ctx)
	ctx, cancel := context.WithTimeout(ctx, unsavedTime)
	defer cancel()
	var reply struct {
		Content *string `json:"content"`
	}
	err := s.srv.conn.call(ctx, methodReadFile, map[string]any{"sessionId": s.id, "path": path}, &reply)
	if err != nil || reply.Content == nil {
		return "", false
	}
	return *reply.Content, true
}
