package preview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
)

// A Result is a command that ran, and what it would change.
type Result struct {
	Task *shellrun.Task
	// Copied says that it ran in a copy of the folders, and why; "" for an overlay.
	Copied string
	// Refused are the hosts that it wanted to reach and could not.
	Refused []string
	// Outside are paths outside of the folders that it wrote; they are dropped.
	Outside []string
	// Caches is how many files it wrote in caches; they are dropped.
	Caches int
	// LeftOut are sockets and devices that it made, which cannot be applied.
	LeftOut []string

	request Request
	dirs    []string
	entries []entry
	unsure  []string
	broken  error  // why the change is not known
	dir     string // where the shell is after the command
	cleanup []func() error
	applied bool
}

// Run runs the command where its changes reach nothing, and reads them. An error
// means that it did not run, or that it is not known what it changed; then the
// result, if there is one, has the command's output.
func Run(ctx context.Context, r Request) (*Result, error) {
	r.complete()
	if err := os.MkdirAll(r.Store, 0o700); err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	result, err := runLayered(ctx, r)
	why := ""
	if failure, ok := sandbox.AsLayerError(err); ok {
		why = string(failure.Reason)
	} else if result != nil {
		why = result.refusedByOverlay()
	}
	if why == "" {
		return result, err
	}
	if result != nil {
		result.Drop()
	}
	return runCopied(ctx, r, why)
}

// spec is the box of a previewed command.
func (r *Request) spec(layers []sandbox.Layer) *sandbox.Spec {
	return &sandbox.Spec{Layers: layers, Hide: r.Hide}
}

func runLayered(ctx context.Context, r Request) (*Result, error) {
	dirs := r.Dirs
	scratch := []string(nil)
	if r.Home != "" {
		dirs = append(dirs[:len(dirs):len(dirs)], r.Home)
	}
	layers, err := sandbox.NewLayers(r.Store, dirs...)
	if failure, ok := sandbox.AsLayerError(err); ok && failure.Dir == r.Home {
		scratch = []string{r.Home}
		layers, err = sandbox.NewLayers(r.Store, r.Dirs...)
	}
	if err != nil {
		return nil, err
	}
	result := &Result{request: r, dirs: r.Dirs, cleanup: []func() error{layers.Remove}}
	spec := r.spec(layers.List)
	spec.Scratch = scratch
	start := thisMoment()
	if err := result.run(ctx, spec); err != nil {
		return nil, errors.Join(err, result.Drop())
	}
	if result.broken != nil {
		return result, result.broken
	}
	read := &reader{limits: r.Limits}
	for i, layer := range layers.List {
		if i >= len(r.Dirs) {
			result.outside(layer)
			continue
		}
		c, err := readLayer(read, layer.Dir, layer.Upper, start)
		if err != nil {
			result.broken = err
			return result, err
		}
		result.take(c)
	}
	return result, result.settle(start)
}

// run runs the command; the shell stays where it was.
func (r *Result) run(ctx context.Context, spec *sandbox.Spec) error {
	shell, command := r.request.Shell, r.request.Command
	command.Box, command.Detach = spec, false
	before := shell.Dir()
	task, err := shell.Run(ctx, command)
	if err != nil {
		return err
	}
	r.Task, r.dir = task, shell.Dir()
	if r.dir != before {
		_ = shell.Move(before) // it was there a moment ago; else the shell finds its way itself
	}
	result := task.Result()
	r.Refused = result.Status.Refused
	switch {
	case result.State != shellrun.Exited:
		r.broken = fmt.Errorf("the command did not end by itself (%s), so all that it changed is dropped", result.State)
	case result.Status.Err != nil:
		r.broken = fmt.Errorf("it is not known how the command ended, so all that it changed is dropped: %w", result.Status.Err)
	case result.Status.Tier != sandbox.TierBox:
		r.broken = sandbox.ErrUnavailable
	}
	return nil
}

// take takes over what changed in a folder.
func (r *Result) take(c *changes) {
	r.LeftOut = append(r.LeftOut, c.leftOut...)
	for _, e := range c.entries {
		if inCache(r.dirs, e.path) || isRefreshedIndex(&e) {
			if !e.after.Mode.IsDir() {
				r.Caches++
			}
			continue
		}
		r.entries = append(r.entries, e)
	}
	for _, path := range c.unsure {
		if !inCache(r.dirs, path) {
			r.unsure = append(r.unsure, path)
		}
	}
}

// settle finishes what was read.
func (r *Result) settle(start moment) error {
	sortEntries(r.entries)
	r.broken = start.check()
	if r.broken == nil && len(r.unsure) > 0 {
		r.broken = &ConflictError{Paths: r.unsure, While: "the command ran"}
	}
	return r.broken
}

// refusedByOverlay reports what the command met that a plain disk would have let
// it do; "" for nothing. That it only speaks of it does no harm: nothing was
// applied, so it can run again.
func (r *Result) refusedByOverlay() string {
	for _, e := range r.entries {
		if e.linked {
			return "an overlay does not keep the names of a file with several together"
		}
	}
	text := r.Task.Output().Excerpt(64<<10, false).Text
	for _, sign := range []string{"nvalid cross-device link", "cross-device link not permitted", "EXDEV"} {
		if strings.Contains(text, sign) {
			return "an overlay does not let a folder be renamed"
		}
	}
	for _, sign := range []string{"alue too large for defined data type", "EOVERFLOW"} {
		if strings.Contains(text, sign) {
			return "an overlay does not let files of other owners be changed"
		}
	}
	return ""
}

// Changed reports whether there is anything to apply.
func (r *Result) Changed() bool { return len(r.entries) > 0 }

// Drop forgets the changes. After Apply it only gives the space back.
func (r *Result) Drop() error {
	var failed []error
	for _, f := range r.cleanup {
		failed = append(failed, f())
	}
	r.cleanup = nil
	return errors.Join(failed...)
}
