"""What a model looks at: templates over columns, word predicates, gazetteers, the feature index."""
