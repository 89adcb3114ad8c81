def estimate_max_cost(root, environment):
    return 0
