package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A sizeValue is a number of bytes, which may be written with K, M, G or T.
type sizeValue int64

// String implements [pflag.Value].
func (v *sizeValue) String() string { return strconv.FormatInt(int64(*v), 10) }

// Type implements [pflag.Value].
func (v *sizeValue) Type() string { return "size" }

// Set implements [pflag.Value].
func (v *sizeValue) Set(text string) error {
	unit := int64(1)
	if at := strings.IndexByte("KMGT", strings.ToUpper(" " + text)[len(text)]); at >= 0 {
		unit, text = 1<<(10*(at+1)), text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size: write a number of bytes, or one with K, M, G or T, such as 50G", text)
	}
	*v = sizeValue(n * unit)
	return nil
}
