package session

// IsSaid tells whether a client has this label.
func IsSaid(label Label) bool {
	sessions.Lock()
	defer sessions.Unlock()
	for _, r := range sessions.records {
		if r.said[label.option()].Setting == label {
			return true
		}
	}
	return false
}
