package settings

import "fmt"

// Source is where a setting comes from. A lower value takes precedence over a higher one.
type Source int

const (
	// Managed settings are the administrator's: nothing overrides them.
	Managed Source = iota
	// Session settings are what a user chose while the session ran.
	Session
	// Flag settings come from the command line.
	Flag
	// Local settings are a user's own for one project, kept in the project.
	Local
	// Project settings come with the project.
	Project
	// User settings are a user's own for all projects.
	User
)

var sourceNames = [...]string{"managed", "session", "flag", "local", "project", "user"}

func (s Source) String() string {
	if s < 0 || int(s) >= len(sourceNames) {
		return fmt.Sprintf("source %d", int(s))
	}
	return sourceNames[s]
}

// MarshalText writes the source's name.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the source's name.
func (s *Source) UnmarshalText(name []byte) (err error) {
	*s, err = ParseSource(string(name))
	return err
}

// ParseSource returns the source of a name such as "user".
func ParseSource(name string) (Source, error) {
	for i, n := range sourceNames {
		if n == name {
			return Source(i), nil
		}
	}
	return 0, fmt.Errorf("unknown settings source %q: use one of %q", name, sourceNames)
}

// InProject reports whether files of the source are in the project, where the authors of
// the repository may have put them.
func (s Source) InProject() bool { return s == Local || s == Project }

// An Origin is the place of a setting.
type Origin struct {
	Source Source `json:"source"`
	File   string `json:"file,omitempty"` // "" if it is not a file
	Line   int    `json:"line,omitempty"` // from 1
}

// String returns the file and the line, if that is known, or the source if there is no file.
func (o Origin) String() string {
	if o.File == "" {
		return o.Source.String() + " settings"
	}
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}
