package session_test

import (
	"context"
	"fmt"
	"os"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

func Example() {
	dir, err := os.MkdirTemp("", "sessions-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, store := context.Background(), session.Open(dir)

	s, err := store.Create(ctx, &session.CreateOptions{Cwd: "/src/project"})
	if err != nil {
		panic(err)
	}
	said := session.Message{Role: model.User, Content: []model.Block{model.TextOf("fix the build")}}
	if err := s.Append(ctx, session.Entry{Message: &said}); err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}

	again, err := store.Resume(ctx, s.ID(), nil)
	if err != nil {
		panic(err)
	}
	defer again.Close()
	m, err := again.Restored().History.Message(0)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Role, m.Content[0].Text)
	// Output: user fix the build
}
