package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/haftdev/haft/internal/config/rewrite"
	"github.com/haftdev/haft/tool"
)

// A Store keeps a list of tasks in a file.
type Store struct {
	dir  string
	opts StoreOptions
	mu   sync.Mutex // spares agents of one process the wait for the file's lock
}

// StoreOptions configure a [Store]. A nil *StoreOptions means all zero values.
type StoreOptions struct {
	// Changed, if not nil, is called with the list after each change that this store made, in
	// order. It must not call the store.
	Changed func(List)
	// Created and Completed, if not nil, are called when an agent, "" being the main one, has
	// added a task, and is about to complete one. An error prevents it, and is its reason.
	Created, Completed func(ctx context.Context, agent string, t Task) error
}

// fileName is the list's file in its directory.
const fileName = "tasks.json"

// NewStore returns the store in a directory, which is created with the first task.
func NewStore(dir string, opts *StoreOptions) *Store {
	s := &Store{dir: dir}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

// Load returns the list as it is now.
func (s *Store) Load() (List, error) {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return List{Tasks: []Task{}}, nil
	}
	if err != nil {
		return List{}, fmt.Errorf("could not open the task list: %w", err)
	}
	defer root.Close()
	f, err := root.Open(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		return List{Tasks: []Task{}}, nil
	}
	if err != nil {
		return List{}, fmt.Errorf("could not open the task list: %w", err)
	}
	defer f.Close()
	raw, err := rewrite.ReadAll(f)
	if err != nil {
		return List{}, s.damaged(err)
	}
	return s.parse(raw)
}

// Update lets a function change the current list, while no other process can. If the function
// returns an error, nothing is changed.
func (s *Store) Update(ctx context.Context, change func(*List) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("could not create the folder of the task list: %w", err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("could not open the folder of the task list: %w", err)
	}
	defer root.Close()
	var after List
	err = rewrite.File(ctx, root, fileName, func(old []byte) ([]byte, error) {
		if after, err = s.parse(old); err != nil {
			return nil, err
		}
		if err := change(&after); err != nil {
			return nil, err
		}
		return encode(after)
	}, &rewrite.Options{Perm: 0o600, DirPerm: 0o700})
	if err == nil && s.opts.Changed != nil {
		s.opts.Changed(after)
	}
	return s.explain(ctx, err)
}

// created asks about a task that an agent has added, and removes it if it must not be there.
func (s *Store) created(ctx context.Context, agent string, t Task) error {
	if s.opts.Created == nil {
		return nil
	}
	why := s.opts.Created(ctx, agent, t)
	if why == nil {
		return nil
	}
	return errors.Join(tool.Errorf("The task was not added, because a hook blocked it: %s", why), s.Update(ctx, func(l *List) error {
		l.remove(t.ID)
		return nil
	}))
}

// completes asks about a task that an agent is about to complete.
func (s *Store) completes(ctx context.Context, agent, id string) error {
	if s.opts.Completed == nil {
		return nil
	}
	l, err := s.Load()
	if err != nil {
		return err
	}
	t, err := l.find(id)
	if err != nil || t.Status == Completed {
		return err
	}
	if why := s.opts.Completed(ctx, agent, *t); why != nil {
		return tool.Errorf("Task %s was not completed, because a hook blocked it: %s", id, why)
	}
	return nil
}

// parse reads a file; nil is an empty list.
func (s *Store) parse(raw []byte) (List, error) {
	l := List{Tasks: []Task{}}
	if raw == nil {
		return l, nil
	}
	err := json.Unmarshal(raw, &l)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return List{}, s.damaged(err)
	}
	return l, nil
}

// damaged says that the file is left as it is: someone may be able to fix it.
func (s *Store) damaged(err error) error {
	return tool.Errorf("The task list %s cannot be read: %w. Nothing was changed. Tell the user, who can fix the file or move it away.", filepath.Join(s.dir, fileName), err)
}

func encode(l List) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(l); err != nil {
		return nil, err
	}
	if b.Len() > rewrite.MaxSize {
		return nil, tool.Errorf("The task list is full. Delete completed tasks with TaskUpdate and the status deleted, or write shorter descriptions.")
	}
	return b.Bytes(), nil
}

// explain turns what the disk says into words for the model; the list is as it was.
func (s *Store) explain(ctx context.Context, err error) error {
	var forModel *tool.Error
	switch {
	case err == nil || errors.As(err, &forModel):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return tool.Errorf("Could not change the task list: %w. Nothing was changed; try again.", err)
}
