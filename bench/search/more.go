package main
import "context"
func (b *bench) session(ctx context.Context) error { return nil }
func (b *bench) globs(ctx context.Context) error { return nil }
func (b *bench) small(ctx context.Context) error { return nil }
