package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Op is what is about to be done with a path.
type Op int

const (
	Read Op = iota
	Write
)

// Decision is the guard's view, from harmless to refused.
type Decision int

const (
	Allow Decision = iota
	Ask
	Deny
)

func (d Decision) String() string { return [...]string{"allow", "ask", "deny"}[d] }

// Verdict is a decision with its reason, which is empty for Allow.
type Verdict struct {
	Decision Decision
	Reason   string
}

// Verdict gives the guard's view of one operation. It is what holds without any rules: a file inside the roots may be read
// and written, one outside needs asking, and some things are never done by a tool. The strictest reason wins.
func (f Facts) Verdict(op Op) Verdict {
	if f.Malformed != "" {
		return Verdict{Deny, f.Malformed}
	}
	for _, d := range [...]Decision{Deny, Ask} {
		for _, check := range [...]func(Facts, Op) Verdict{
			Facts.checkSpecial, Facts.checkKind, Facts.checkSensitive, Facts.checkPlace, Facts.checkName, Facts.checkShared,
		} {
			if v := check(f, op); v.Decision == d {
				return v
			}
		}
	}
	return Verdict{}
}

func (f Facts) checkSpecial(op Op) Verdict {
	switch {
	case errors.Is(f.Err, ErrTooManyLinks):
		return Verdict{Deny, f.Err.Error()}
	case f.special == deviceFile && op == Read:
		return Verdict{Deny, fmt.Sprintf("%s is %s, which may be endless: read part of it with Bash, such as head -c 100 %s", f.Path, f.special, f.Path)}
	case f.special == processFile || f.special == deviceFile:
		return Verdict{Deny, fmt.Sprintf("%s is %s", f.Path, f.special)}
	case f.special == kernelFile && op == Write:
		return Verdict{Deny, fmt.Sprintf("%s is %s", f.Path, f.special)}
	}
	return Verdict{}
}

func (f Facts) checkKind(op Op) Verdict {
	if !f.Exists {
		if op == Write && reserved.MatchString(filepath.Base(f.Real)) {
			return Verdict{Deny, fmt.Sprintf("%s is a reserved device name on Windows", filepath.Base(f.Real))}
		}
		return Verdict{}
	}
	switch t := f.Info.Mode.Type(); {
	case t.IsDir() && op == Write:
		return Verdict{Deny, f.Path + " is a directory"}
	case t.IsDir() || t.IsRegular():
		return Verdict{}
	}
	return Verdict{Deny, fmt.Sprintf("%s is a %s, not a file: opening it may block forever. Use Bash with a timeout instead", f.Path, f.Kind())}
}

func (f Facts) checkSensitive(op Op) Verdict {
	d, what := f.Sensitive.Read, f.Sensitive.What
	if op == Write {
		d, what = f.Sensitive.Write, f.Sensitive.Written()
	}
	if d == Allow || f.Plan {
		return Verdict{}
	}
	return Verdict{d, fmt.Sprintf("%s: %s", f.Path, what)}
}

func (f Facts) checkPlace(op Op) Verdict {
	switch {
	case f.Root != "", f.Kept && op == Read, f.Plan, f.Scratch, f.Temp && op == Read:
		return Verdict{}
	case f.Escapes && op == Write:
		return Verdict{Deny, fmt.Sprintf("a symbolic link in %s leads out of the project, to %s", f.Path, f.Real)}
	case f.Escapes:
		return Verdict{Ask, fmt.Sprintf("a symbolic link in %s leads out of the project, to %s", f.Path, f.Real)}
	}
	return Verdict{Ask, f.Real + " is outside the project"}
}

func (f Facts) checkName(Op) Verdict {
	if f.Odd != "" {
		return Verdict{Ask, fmt.Sprintf("%s: %q", f.Odd, f.Given)}
	}
	return Verdict{}
}

// checkShared finds files whose change reaches further than their name.
func (f Facts) checkShared(op Op) Verdict {
	switch {
	case op != Write || !f.Exists || !f.Info.Mode.IsRegular():
	case f.Info.Links > 1:
		return Verdict{Ask, fmt.Sprintf("%s has %d hard links; writing to it changes them all", f.Path, f.Info.Links)}
	case f.Info.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return Verdict{Ask, f.Path + " runs with the rights of its owner or group (setuid or setgid)"}
	}
	return Verdict{}
}
