package haft

import "strings"

// version is what the command line is told about this package.
const version = "0.1.0"

// flags collects command-line flags as --name=value.
type flags []string

func (f *flags) add(name, value string) { *f = append(*f, "--"+name+"="+value) }

func (f *flags) text(name, value string) {
	if value != "" {
		f.add(name, value)
	}
}

func (f *flags) on(name string, set bool) {
	if set {
		*f = append(*f, "--"+name)
	}
}

func (f *flags) list(name string, values []string) {
	if len(values) > 0 {
		f.add(name, strings.Join(values, ","))
	}
}

// maybe adds a list for which an empty list differs from no list.
func (f *flags) maybe(name string, values []string) {
	if values != nil {
		f.add(name, strings.Join(values, ","))
	}
}

func (f *flags) each(name string, values []string) {
	for _, v := range values {
		f.add(name, v)
	}
}
