//go:build !linux

package preview

import (
	"context"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// Run needs what only Linux has.
func Run(context.Context, Request) (*Result, error) { return nil, sandbox.ErrUnavailable }

// Sweep has nothing to remove.
func Sweep(string) error { return nil }

type stamp struct{}

func (s source) read(int64) ([]byte, error) { return nil, sandbox.ErrUnavailable }

type present struct{}

func newPresent(Limits) *present { return &present{} }

func (*present) look(string, version) (version, error) { return version{}, sandbox.ErrUnavailable }

func (*Result) moveShell() {}
