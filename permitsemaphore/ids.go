package permitsemaphore

import (
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/redlatch/redlatch/internal/errs"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
)

// idSize is the size of an id as Redis has it. Outside it is written in hexadecimal.
const idSize = 16

// mint makes n ids that no permit has had before.
func mint(n int) []string {
	random := make([]byte, n*idSize)
	_, _ = rand.Read(random) // never fails
	all, ids := string(random), make([]string, n)
	for i := range ids {
		ids[i] = all[i*idSize : (i+1)*idSize]
	}
	return ids
}

func text(id string) string { return hex.EncodeToString([]byte(id)) }

func texts(ids []string) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = text(id)
	}
	return texts
}

// parse reads ids and refuses duplicates: a permit that is released twice would be two.
func parse(call string, texts []string) ([]string, error) {
	if len(texts) > script.MaxIDs {
		return nil, errs.Wrong("%s of %d permits: at most %d at once", call, len(texts), script.MaxIDs)
	}
	ids := make([]string, len(texts))
	for i, t := range texts {
		id, err := hex.DecodeString(t)
		if err != nil || len(id) != idSize {
			return nil, errs.Wrong("%s: %q is not the id of a permit, which is %d hexadecimal digits", call, t,
				2*idSize)
		}
		ids[i] = string(id)
	}
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return nil, errs.Wrong("%s: permit %s is named twice; name each once", call, text(sorted[i]))
		}
	}
	return ids, nil
}
