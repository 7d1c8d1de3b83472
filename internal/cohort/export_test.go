package cohort

// Windows is how many windows are remembered.
func (r *Registry) Windows() int { return len(r.windows) }
