package project

// A UsageError is a mistake of whoever wrote the options: they name what there is
// not. Nothing was tried.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }
